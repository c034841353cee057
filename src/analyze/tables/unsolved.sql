-- The word that goes with an operator: of those in four of five solved kernels with it (two at
-- least), the one that other kernels have least, if it stands out.
WITH plain (op) AS (VALUES -- arithmetic, and what moves or names memory
    ('add'), ('sub'), ('mul'), ('div'), ('neg'), ('pow'), ('lt'), ('le'), ('gt'), ('ge'), ('eq'),
    ('ne'), ('view'), ('reshape'), ('permute'), ('transpose'), ('contiguous'), ('size'),
    ('unsqueeze'), ('squeeze'), ('expand'), ('flatten'), ('to'), ('float'), ('dim'), ('zeros'),
    ('ones'), ('empty'), ('detach'), ('clone'), ('type'), ('shape'), ('t'), ('expand_as'),
    ('view_as'), ('Parameter'), ('ModuleList'), ('Sequential')),
kernel AS MATERIALIZED (
    SELECT nr, ord, value AS word, row_number() OVER (ORDER BY nr, ord, key) AS place
    FROM attempt, json_each(words(nr, code)) WHERE first),
kernels (n) AS (SELECT count(*) FROM attempt WHERE first),
word AS MATERIALIZED (SELECT word, count(*) AS n FROM kernel GROUP BY word),
solver AS MATERIALIZED (
    SELECT DISTINCT nr, ord, op FROM chain JOIN task USING (nr, ord) WHERE solved_at IS NOT NULL),
operator AS MATERIALIZED (SELECT op, count(*) AS n FROM solver GROUP BY op HAVING count(*) >= 2),
pair AS (
    SELECT op, word, count(*) AS here, min(place) AS place
    FROM solver JOIN kernel USING (nr, ord) GROUP BY op, word),
lift AS (
    SELECT op, word, place, 1.0 * here / operator.n
        - ifnull(1.0 * (word.n - here) / (kernels.n - operator.n), 0) AS lift
    FROM pair JOIN operator USING (op) JOIN word USING (word) JOIN kernels
    WHERE here >= 0.8 * operator.n),
chosen AS MATERIALIZED (
    SELECT op, word FROM (
        SELECT *, row_number() OVER (PARTITION BY op ORDER BY lift DESC, place) AS rank
        FROM lift WHERE lift > 0.5)
    WHERE rank = 1),
needed AS MATERIALIZED (
    SELECT nr, ord, op, ifnull(word, '') AS word, min(place) AS place
    FROM chain JOIN task USING (nr, ord) LEFT JOIN chosen USING (op)
    WHERE solved_at IS NULL AND op NOT IN plain GROUP BY nr, ord, op),
in_guide AS MATERIALIZED (
    SELECT nr, op FROM (SELECT DISTINCT nr, op, word FROM needed) JOIN guide USING (nr)
    WHERE mentioned(text, op) OR mentioned(text, word)),
example AS MATERIALIZED (
    SELECT DISTINCT nr, ord, last_part(value) AS last
    FROM seen JOIN entry USING (nr, entry), json_each(words(nr, solution))),
in_examples AS MATERIALIZED (
    SELECT nr, ord, op FROM needed JOIN example USING (nr, ord)
    WHERE last IN (lower(op), last_part(word))),
own AS MATERIALIZED (
    SELECT DISTINCT nr, ord, last_part(value) AS last
    FROM attempt JOIN task USING (nr, ord), json_each(words(nr, code)) WHERE solved_at IS NULL),
in_code AS MATERIALIZED (
    SELECT nr, ord, op FROM needed JOIN own USING (nr, ord)
    WHERE last IN (lower(op), last_part(word))),
shown AS (
    SELECT nr, ord, op, place, (nr, op) IN in_guide AS guide, (nr, ord, op) IN in_examples AS example,
        (nr, ord, op) IN in_code AS code
    FROM needed),
sum AS (
    SELECT nr, ord, count(*) AS ops, sum(guide) AS guide, sum(example) AS example, sum(code) AS code,
        group_concat(iif(guide OR example OR code, NULL, op), ', ') AS never
    FROM (SELECT * FROM shown ORDER BY nr, ord, place) GROUP BY nr, ord)
SELECT name AS run, id AS task, family(ifnull(source.ops, '')) AS family,
    (SELECT count(*) FROM chain AS c WHERE c.nr = task.nr AND c.ord = task.ord) AS length,
    ifnull((SELECT group_concat(op, ' > ') FROM (
        SELECT op FROM chain AS c WHERE c.nr = task.nr AND c.ord = task.ord ORDER BY place)), '')
        AS operators,
    ifnull((SELECT group_concat(n || ' ' || verdict, ', ') FROM (
        SELECT n, verdict FROM outcomes AS o JOIN verdict USING (verdict)
        WHERE o.nr = task.nr AND o.ord = task.ord ORDER BY verdict.place)), '') AS attempts,
    ifnull(sum.ops, 0) AS needed, iif(text IS NULL, NULL, ifnull(sum.guide, 0)) AS "in guide",
    ifnull(example, 0) AS "in examples", ifnull(code, 0) AS "in code",
    ifnull(never, '') AS "never visible"
FROM task JOIN run USING (nr) JOIN source USING (nr, ord) JOIN guide USING (nr)
LEFT JOIN sum USING (nr, ord)
WHERE solved_at IS NULL ORDER BY nr, ord;

SELECT 'needed: operators of the reference that are more than arithmetic; a text shows one if it '
    || 'has a word of that name, or the word that solved kernels use for it' AS note
WHERE EXISTS (SELECT 1 FROM task WHERE solved_at IS NULL);

SELECT 'every task is solved' AS note WHERE NOT EXISTS (SELECT 1 FROM task WHERE solved_at IS NULL);
