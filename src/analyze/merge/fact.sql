-- What was decided for the run.
SELECT :nr AS nr, name, value FROM fact
WHERE name IN ('method', 'model', 'dsl', 'attempts', 'pack_hash', 'precision', 'device', 'seed');
