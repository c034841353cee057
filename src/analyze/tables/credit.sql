-- Attempts are comparable if they are the same attempt of their tasks, with the same
-- mode of retrieval, in a run that chose examples.
WITH stratum AS (
    SELECT nr, attempt, mode, sum(first) AS n, sum(first_hits) AS hits
    FROM credit JOIN strategy USING (nr) GROUP BY nr, attempt, mode),
effect AS (
    SELECT nr, entry, sum(marked) AS marked, sum(marked_hits) AS hits,
        sum(1.0 * marked * hits / n) AS expected,
        randomise(n, hits, marked, marked_hits, rounds, value) AS p
    FROM (SELECT * FROM credit JOIN stratum USING (nr, attempt, mode)
        ORDER BY nr, entry, attempt, mode)
    JOIN asked LEFT JOIN (SELECT nr, value FROM fact WHERE name = 'seed') USING (nr)
    GROUP BY nr, entry)
SELECT log.name AS run, entry, entry.name AS example, origin, marked AS shown,
    effect.hits AS solved, expected AS "expected:2", p AS "p:4"
FROM effect JOIN entry USING (nr, entry) JOIN log USING (nr)
ORDER BY nr, p, marked DESC, entry;

SELECT format('expected: solved attempts if the example made no difference; p: two-sided, '
    || 'examples moved at random between attempts of the same number and mode, up to %d times; '
    || 'of %d examples, chance alone puts about %s below 0.05', rounds, n, fixed(0.05 * n, 1)) AS note
FROM asked, (SELECT count(*) AS n FROM entry JOIN strategy USING (nr)
    WHERE (nr, entry) IN (SELECT nr, entry FROM credit));

SELECT 'no run chose examples from an archive' AS empty;
