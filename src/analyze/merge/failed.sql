-- The attempts that failed, with the first line of the error that says something.
SELECT :nr AS nr, ord, attempt, a.verdict, record, ifnull(error(record), '') AS error
FROM subject JOIN attempt AS a ON task = ord LEFT JOIN verdict USING (task, attempt)
WHERE NOT piece AND NOT skipped AND NOT solved;
