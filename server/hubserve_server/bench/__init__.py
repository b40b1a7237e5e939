"""`hubserve bench`: how quick a server is, alone or beside another, as its clients feel it."""
