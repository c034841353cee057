WITH RECURSIVE power (n) AS (
    SELECT 1 UNION ALL SELECT 2 * n FROM power WHERE 2 * n < (SELECT max(k) FROM number)),
attempts (n) AS (SELECT n FROM power UNION SELECT max(k) FROM number),
pair AS (
    SELECT a.nr AS a, b.nr AS b, a.name AS one, b.name AS other, n,
        count(*) FILTER (WHERE x.solved_at <= n AND y.solved_at <= n) AS both,
        count(*) FILTER (WHERE x.solved_at <= n AND NOT ifnull(y.solved_at <= n, 0)) AS only_one,
        count(*) FILTER (WHERE y.solved_at <= n AND NOT ifnull(x.solved_at <= n, 0)) AS only_other
    FROM run AS a JOIN run AS b ON a.nr < b.nr JOIN attempts
    JOIN task AS x ON x.nr = a.nr JOIN task AS y ON y.id = x.id AND y.nr = b.nr
    GROUP BY a.nr, b.nr, n)
SELECT one, other, n AS attempts, both, only_one AS "only one", only_other AS "only other",
    mcnemar(only_one, only_other) AS "p:4"
FROM pair ORDER BY a, b, n;

SELECT 'tasks solved within that many attempts by both, or by only one of the two; p: exact '
    || 'McNemar, two-sided' AS note;
