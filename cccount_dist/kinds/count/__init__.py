"""How many there are: the campaign kind `count`."""
