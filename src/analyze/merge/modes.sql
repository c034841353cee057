-- What the attempts at tasks did: an option may have been changed.
SELECT DISTINCT :nr AS nr, retrieval FROM attempt JOIN task ON ord = task WHERE kind IS NULL;
