"""`hubserve eval`: whether a server returns what a model means, tried from outside."""
