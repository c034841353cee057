-- Lines that say why run :nr does not compare with the first, which has number 0.
SELECT format('  tasks: %d of %s are not in %s, such as %s', count(*), here.name, there.name,
    cut(task.id, 80)) AS line, min(ord)
FROM run AS here JOIN run AS there ON there.nr = :nr - here.nr JOIN task ON task.nr = here.nr
WHERE here.nr IN (0, :nr) AND NOT EXISTS (
    SELECT 1 FROM task AS t WHERE t.nr = there.nr AND t.id = task.id AND t.hash = task.hash)
GROUP BY here.nr ORDER BY here.nr;

-- Method, model and seed may differ: they are what is compared.
WITH protocol (place, name, title) AS (VALUES (1, 'dsl', 'language'), (2, 'pack_hash', 'pack'),
    (3, 'precision', 'precision'), (4, 'device', 'device'), (5, 'attempts', 'attempts per task'))
SELECT format('  %s: %.16s in %s, %.16s in %s', title, ifnull(nullif(x.value, ''), 'unknown'),
    a.name, ifnull(nullif(y.value, ''), 'unknown'), b.name) AS line
FROM protocol JOIN run AS a ON a.nr = 0 JOIN run AS b ON b.nr = :nr
LEFT JOIN fact AS x ON x.nr = 0 AND x.name = protocol.name
LEFT JOIN fact AS y ON y.nr = :nr AND y.name = protocol.name
WHERE ifnull(x.value, '') <> ifnull(y.value, '') ORDER BY place;

SELECT format('  seeds: %d in %s, %d in %s', a.seeds, a.name, b.seeds, b.name) AS line
FROM run AS a JOIN run AS b ON b.nr = :nr WHERE a.nr = 0 AND a.seeds <> b.seeds;
