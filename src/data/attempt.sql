-- An attempt, as records need it: its texts, the examples that it was shown, and its calls in the
-- order of asking.
SELECT a.attempt, iteration, retrieval, a.verdict, plan, code, feedback,
    (SELECT json_group_array(name) FROM (
        SELECT ifnull(name, '?') AS name FROM shown LEFT JOIN entry USING (entry)
        WHERE shown.task = a.task AND shown.attempt = a.attempt ORDER BY rank)) AS "shown:j",
    (SELECT json_group_array(json_object('purpose', purpose, 'model', model, 'prompt', prompt,
        'reply', reply)) FROM (
        SELECT * FROM call WHERE call.task = a.task AND call.attempt = a.attempt
        ORDER BY asked_at, try, purpose, asked)) AS "calls:j"
FROM attempt AS a LEFT JOIN verdict USING (task, attempt)
WHERE a.task = :task AND a.attempt = :attempt;
