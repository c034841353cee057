-- The tasks of a run, then its pieces; or one of the two, by :pieces. `state` and `why` are for
-- people. What stands for a task: of the attempts that solved it the fittest, else the last.
WITH aside AS MATERIALIZED ( -- the last: the other columns are of this row
    SELECT task, max(seq), attempt, text FROM event WHERE kind = 'aside' GROUP BY task),
told AS (
    SELECT id, kind, ord, best.verdict, rule, evidence,
        (SELECT ifnull(max(attempt), 0) FROM attempt WHERE task = ord) AS attempts,
        (SELECT ifnull(min(attempt), 0) FROM attempt WHERE task = ord AND solved) AS solved_at,
        ord IN (SELECT task FROM entry JOIN entry_left USING (entry) WHERE origin = 'run')
            AS doubted,
        (SELECT json_group_array(name) FROM (
            SELECT ifnull(name, '?') AS name FROM shown LEFT JOIN entry USING (entry)
            WHERE shown.task = ord AND shown.attempt = best.attempt ORDER BY rank)) AS shown,
        skipped, aside.attempt AS aside_at, text,
        (SELECT json_group_object(verdict, n) FROM (
            SELECT verdict, count(*) AS n FROM attempt
            WHERE task = ord AND verdict_place(verdict) IS NOT NULL
            GROUP BY verdict ORDER BY verdict_place(verdict))) AS verdicts,
        iif(solved OR skipped IS NOT NULL, NULL, error(record)) AS error,
        speedup(times, 'reference_ms') AS speedup, piece(kind, level, depth, parents, needs) AS piece,
        iif(solved AND skipped IS NULL AND kind IS NULL, doubt(record, times), NULL) AS implausible
    FROM task LEFT JOIN attempt AS best ON best.task = ord AND best.attempt = (
        SELECT attempt FROM attempt WHERE task = ord
        ORDER BY solved DESC, iif(solved, fitness, attempt) DESC, attempt LIMIT 1)
    LEFT JOIN verdict AS v ON v.task = ord AND v.attempt = best.attempt
    LEFT JOIN verdict_time AS t ON t.task = ord AND t.attempt = best.attempt
    LEFT JOIN aside ON aside.task = ord),
stated AS ( -- a task that was set aside may have been tried again since then
    SELECT *, iif(aside_at > attempts, text, NULL) AS aside FROM told)
SELECT id AS task, verdict, rule, evidence, attempts, solved_at, doubted AS "doubted:b",
    shown AS "shown:j", skipped, aside, verdicts AS "verdicts:j", error, speedup,
    piece AS "piece:o", implausible,
    iif(:text, CASE WHEN skipped IS NOT NULL THEN 'skipped' WHEN doubted THEN 'doubted'
        WHEN aside IS NOT NULL THEN 'set aside' ELSE verdict END, NULL) AS "state:?",
    iif(:text, ifnull('implausible: ' || implausible, '')
        || iif(skipped IS NULL AND aside IS NULL, ifnull(rule || ': ', ''), '')
        || coalesce(skipped, aside, error, ''), NULL) AS "why:?"
FROM stated WHERE :pieces IS NULL OR (kind IS NOT NULL) = :pieces ORDER BY ord;
