SELECT name AS run, failure.attempts, failure.tasks, failure.solved, verdict, error AS diagnostic,
    format('%s, attempt %d', id, attempt) AS first
FROM failure JOIN run USING (nr) JOIN task USING (nr, ord) WHERE place <= 20 ORDER BY nr, place;

SELECT 'numbers in diagnostics aside; solved: of these tasks, in the end' AS note;

SELECT 'no attempt failed' AS empty;
