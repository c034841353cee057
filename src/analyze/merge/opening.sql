-- The prompts of first attempts, in their order.
SELECT :nr AS nr, ord, asked_at, prompt FROM subject JOIN call ON task = ord
WHERE NOT piece AND NOT skipped
    AND call.attempt = (SELECT min(attempt) FROM attempt WHERE attempt.task = ord)
ORDER BY ord, asked_at;
