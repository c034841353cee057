WITH sizes (k) AS (VALUES (1), (5), (10), (25), (100)),
shown AS (
    SELECT k FROM sizes
    WHERE k <= (SELECT max(1, ifnull(max(attempts), 1)) FROM run WHERE whole)),
several AS (SELECT nr FROM task GROUP BY nr HAVING count(DISTINCT level) > 1),
part AS ( -- each level, if there are several; then all of them (NULL)
    SELECT nr, level FROM task JOIN several USING (nr) GROUP BY nr, level
    UNION ALL SELECT nr, NULL FROM run)
SELECT name AS run, dsl AS language, model, method, ifnull(part.level, 'all') AS level,
    count(ord) AS tasks, attempts AS N,
    iif(whole, 1.0 * sum(correct) / sum(made), NULL) AS "accuracy:%",
    1.0 * count(solved_at) / count(ord) AS "coverage:%",
    1.0 * count(*) FILTER (WHERE solved_at = 1) / count(ord) AS "first:%",
    (SELECT json_group_object('pass@' || k, iif(whole AND k <= attempts, (
        SELECT sum(pass_at_k(made, correct, k)) / count(*) FROM task AS t
        WHERE t.nr = part.nr AND (part.level IS NULL OR t.level = part.level)), NULL))
     FROM shown) AS "*%"
FROM part JOIN run USING (nr)
LEFT JOIN task ON task.nr = part.nr AND (part.level IS NULL OR task.level = part.level)
GROUP BY part.nr, part.level ORDER BY part.nr, part.level NULLS LAST;

SELECT format('%s: pass@k takes attempts as independent, which those of %s are not', name,
    method) AS note
FROM run WHERE whole AND attempts > 1 AND method <> 'sampling' ORDER BY nr;

SELECT 'accuracy and pass@k need runs whose tasks make all attempts: --no-stop' AS note
WHERE EXISTS (SELECT 1 FROM run WHERE NOT whole);

SELECT 'accuracy: correct attempts of all; coverage: tasks solved by any of N; '
    || 'first: tasks solved by the first' AS note;
