-- Attempts that have code and were shown examples, with these.
SELECT :nr AS nr, ord, attempt, solved, code, (
    SELECT json_group_array(json_array(name, solution)) FROM (
        SELECT name, solution FROM shown AS s JOIN entry USING (entry)
        WHERE s.task = a.task AND s.attempt = a.attempt ORDER BY rank)) AS parents
FROM subject JOIN attempt AS a ON a.task = ord
WHERE NOT piece AND NOT skipped AND code IS NOT NULL AND EXISTS (
    SELECT 1 FROM shown AS s WHERE s.task = a.task AND s.attempt = a.attempt);
