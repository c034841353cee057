-- How many attempts of a number, with the same mode of retrieval, were shown an example
-- while their tasks were not solved, and how many of these solved them. `first`: of those
-- that were shown it first; their sums are all attempts.
, open AS MATERIALIZED (
    SELECT task, attempt, attempt = ifnull(solved_at, 0) AS hit,
        CASE WHEN retrieval GLOB 'si*' THEN 1 WHEN retrieval GLOB 'r*' THEN 2
            WHEN retrieval GLOB 'c*' THEN 3 ELSE 0 END AS mode
    FROM subject CROSS JOIN attempt ON task = ord
    WHERE NOT piece AND NOT skipped AND attempt BETWEEN 1 AND ifnull(solved_at, attempt))
SELECT :nr AS nr, entry, attempt, mode, count(*) AS marked, sum(hit) AS marked_hits,
    sum(rank = 1) AS first, sum(hit AND rank = 1) AS first_hits
FROM open CROSS JOIN shown USING (task, attempt) GROUP BY entry, attempt, mode;
