SELECT :nr AS nr, entry, name, origin FROM entry;
