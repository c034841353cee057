SELECT :nr AS nr, entry, name, origin, solution FROM entry;
