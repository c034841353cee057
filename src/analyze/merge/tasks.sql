SELECT :nr AS nr, * FROM subject;
