"""What more than one side needs. It imports no other side, except that child.py loads the
side that its process is for."""
