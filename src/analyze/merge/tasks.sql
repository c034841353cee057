-- Tasks and pieces. `refused`: the reviewer refused its kernel at the end of the run.
SELECT :nr AS nr, ord, id, hash, skipped IS NOT NULL AS skipped, kind IS NOT NULL AS piece,
    level AS piece_level, ord IN (
        SELECT task FROM entry JOIN entry_left USING (entry)
        WHERE origin = 'run' AND left_version <> 0) AS refused
FROM task;
