-- What came of each task and piece; `made`: its attempts. It begins every query of merge/,
-- which goes on with SELECT, or with a comma for another table of this WITH. A kernel that
-- the reviewer refused at the end does not count.
WITH refused AS (
    SELECT task AS ord FROM entry JOIN entry_left USING (entry)
    WHERE origin = 'run' AND left_version <> 0),
tried AS (
    SELECT ord, id, hash, skipped IS NOT NULL AS skipped, kind IS NOT NULL AS piece,
        level AS piece_level, count(attempt) AS made, count(*) FILTER (WHERE solved) AS won,
        min(attempt) FILTER (WHERE solved) AS won_at
    FROM task LEFT JOIN attempt ON task = ord GROUP BY ord),
subject AS (
    SELECT *, iif(ord IN refused, 0, won) AS correct, iif(ord IN refused, NULL, won_at) AS solved_at
    FROM tried)
