-- What unsolved tasks need is not known: there are three stand-ins. The third is the kernel
-- of the first other run of the language that solved the task.
WITH other AS (
    SELECT t.nr, t.ord, (
        SELECT a.rowid FROM task AS o JOIN run AS r ON r.nr = o.nr
        JOIN attempt AS a ON a.nr = o.nr AND a.ord = o.ord AND a.first
        WHERE o.hash = t.hash AND o.nr <> t.nr AND r.dsl = run.dsl ORDER BY o.nr, o.ord LIMIT 1) AS kernel
    FROM task AS t JOIN run ON run.nr = t.nr WHERE t.solved_at IS NULL),
part AS (
    SELECT nr, ord, 0 AS kind, op AS name FROM chain
    UNION SELECT nr, ord, 1, op || ' > ' || next FROM chain WHERE next IS NOT NULL
    UNION SELECT o.nr, o.ord, 2, value
        FROM other AS o JOIN attempt AS a ON a.rowid = kernel, json_each(words(a.nr, code))),
there AS (
    SELECT nr, kind, name FROM part JOIN task USING (nr, ord)
        WHERE solved_at IS NOT NULL AND kind < 2
    UNION SELECT nr, 2, value FROM entry, json_each(words(nr, solution)) WHERE origin <> 'run'
    UNION SELECT nr, 2, value FROM attempt, json_each(words(nr, code)) WHERE first),
covered AS (
    SELECT nr, kind, count(*) AS needed, count(there.name) AS found
    FROM part JOIN task USING (nr, ord) LEFT JOIN there USING (nr, kind, name)
    WHERE solved_at IS NULL GROUP BY nr, kind, ord)
SELECT name AS run, CASE kind WHEN 0 THEN 'operators of the reference'
        WHEN 1 THEN 'neighbouring operators of the reference'
        ELSE 'primitives of another run''s kernel' END AS components,
    count(*) AS unsolved, sum(found = needed) AS "all present",
    1.0 * sum(found = needed) / count(*) AS "share:%",
    sum(1.0 * found / needed) / count(*) AS "mean covered:%", sum(found < needed) AS "with new"
FROM covered JOIN run USING (nr) GROUP BY nr, kind ORDER BY nr, kind;

SELECT 'all present: unsolved tasks whose components all occur in solved ones of the run; with new: '
    || 'the others' AS note;

SELECT 'every task is solved' AS missing WHERE NOT EXISTS (SELECT 1 FROM task WHERE solved_at IS NULL);

SELECT 'no reference of an unsolved task has an operator that is known' AS empty;
