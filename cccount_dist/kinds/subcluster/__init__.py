"""A few clean images of each class: the campaign kind `subcluster`."""
