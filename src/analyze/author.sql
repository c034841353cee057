-- The runs in words; what others have named has a number.
SELECT text, named FROM (
    SELECT nr, 1 AS place, char(10) || '- ' AS text, 0 AS named FROM run
    UNION ALL SELECT nr, 2, name, 1 FROM run UNION ALL SELECT nr, 3, ': ', 0 FROM run
    UNION ALL SELECT nr, 4, dsl, 1 FROM run UNION ALL SELECT nr, 5, ', ', 0 FROM run
    UNION ALL SELECT nr, 6, model, 1 FROM run UNION ALL SELECT nr, 7, ', ', 0 FROM run
    UNION ALL SELECT nr, 8, method, 1 FROM run
    UNION ALL SELECT nr, 9, format('; solved %d of %d tasks', solved, tasks) || char(10), 0 FROM run)
ORDER BY nr, place;
