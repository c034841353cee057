SELECT name AS run, id AS task, attempt, code_lines(nr, code) AS lines,
    json_array_length(words(nr, code)) AS primitives,
    ifnull((SELECT group_concat(value, ', ') FROM (
        SELECT value FROM json_each(words(nr, code)) ORDER BY value)), '') AS names
FROM attempt JOIN task USING (nr, ord) JOIN run USING (nr) WHERE first ORDER BY nr, ord;

SELECT 'lines with code, without comments; primitives: what the kernel calls of its language'
    AS note;

SELECT 'no task is solved' AS empty;
