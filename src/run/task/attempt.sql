-- What an attempt has besides its line.
SELECT method, iteration, batch, archive_version, retrieval, parent, island,
    NULL AS examples, NULL AS calls,
    text(plan) AS plan, text(code) AS code, text(feedback) AS feedback,
    record(record, times) AS "record:j"
FROM attempt LEFT JOIN verdict USING (task, attempt) LEFT JOIN verdict_time USING (task, attempt)
WHERE task = :task AND attempt = :attempt;
