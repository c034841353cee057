-- What a model is asked about borrowing: attempts with one of the numbers that are given.
SELECT nr, task.id AS task, attempt, solved, code, parents AS "parents:j"
FROM asked_about JOIN task USING (nr, ord)
JOIN json_each((SELECT value FROM given WHERE name = 'attempts')) AS n ON CAST(n.value AS INTEGER) = attempt
ORDER BY nr, ord, n.key;
