-- One text of an attempt, or of the last call of a stage.
SELECT CASE :part
    WHEN 'code' THEN text(code) WHEN 'plan' THEN text(plan) WHEN 'feedback' THEN text(feedback)
    WHEN 'prompt' THEN (SELECT prompt(prompt) FROM call WHERE call.task = :task
        AND call.attempt = :attempt AND purpose = :stage ORDER BY asked_at DESC, try DESC LIMIT 1)
    ELSE (SELECT text(reply) FROM call WHERE call.task = :task
        AND call.attempt = :attempt AND purpose = :stage ORDER BY asked_at DESC, try DESC LIMIT 1)
    END AS text
FROM attempt LEFT JOIN verdict USING (task, attempt) WHERE task = :task AND attempt = :attempt;
