"""Which belong together: the campaign kind `cluster`."""
