-- What every prompt of a run began with: instructions, guide and card. Of the first attempts, in
-- their order, the first prompt that has a system message.
, asked AS MATERIALIZED (
    SELECT prompt FROM subject JOIN call ON task = ord
    WHERE NOT piece AND NOT skipped AND prompt IS NOT NULL
        AND call.attempt = (SELECT min(attempt) FROM attempt WHERE attempt.task = ord)
    ORDER BY ord, asked_at)
SELECT :nr AS nr, (SELECT text FROM (
    SELECT (SELECT value ->> 'text' FROM json_each(messages(prompt)) WHERE value ->> 'role' = 'system'
        LIMIT 1) AS text FROM asked) WHERE text <> '' LIMIT 1) AS text;
