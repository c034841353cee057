SELECT :nr AS nr, ord, source, ops FROM task;
