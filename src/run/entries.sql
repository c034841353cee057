-- The entries of a run's archive that were verified and have not left it, with what came of them
-- the last time they were verified again. `id`: of the task, if the run has found the kernel.
WITH again AS ( -- the other columns are of the row with the last pass
    SELECT problem, solution, max(pass), judged_at, ifnull(why, verdict) AS why,
        verdict = 'correct' AND ifnull(evidence, '') >= 'E3' AS passed
    FROM recheck GROUP BY problem, solution)
SELECT name, entry.task, id, entry.problem, entry.solution, entry.problem AS source, path,
    (SELECT value FROM fact WHERE fact.name = 'dsl') AS dsl,
    (SELECT value FROM fact WHERE fact.name = 'precision') AS precision,
    iif(passed, NULL, strftime('%Y-%m-%d', again.judged_at / 1000000, 'unixepoch')) AS retired_on,
    iif(passed, NULL, again.why) AS retired_why
FROM entry LEFT JOIN entry_left AS gone USING (entry) LEFT JOIN task ON ord = entry.task
LEFT JOIN again USING (problem, solution)
WHERE left_version IS NULL AND evidence IS NOT NULL AND problem IS NOT NULL ORDER BY entry;
