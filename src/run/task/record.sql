SELECT record(record, times) AS "record:j"
FROM verdict LEFT JOIN verdict_time USING (task, attempt)
WHERE task = :task AND attempt = :attempt;
