-- The tasks that take part: no pieces, and none that the gate skipped. A kernel
-- that the reviewer refused at the end does not count, so its task is not solved.
WITH refused AS (
    SELECT task FROM entry JOIN entry_left USING (entry)
    WHERE origin = 'run' AND left_version <> 0),
tried AS (
    SELECT a.task, a.attempt, v.compiled,
        a.solved AND a.task NOT IN refused AS solved
    FROM attempt AS a LEFT JOIN verdict AS v USING (task, attempt)),
paid AS (
    SELECT task, sum(input) AS input, sum(output) AS output,
        sum(cost_usd_micro) AS usd_micro
    FROM call GROUP BY task)
SELECT :nr AS nr, ord, id, hash,
    substr(id, 1, instr(id, '/') - 1) AS level,
    count(attempt) AS tries,
    count(*) FILTER (WHERE solved) AS correct,
    min(attempt) FILTER (WHERE solved) AS solved_at,
    min(attempt) FILTER (WHERE compiled) AS compiled_at,
    ifnull(input, 0) AS input,
    ifnull(output, 0) AS output,
    ifnull(usd_micro, 0) AS usd_micro
FROM task LEFT JOIN tried ON tried.task = ord LEFT JOIN paid ON paid.task = ord
WHERE kind IS NULL AND skipped IS NULL
GROUP BY ord;
