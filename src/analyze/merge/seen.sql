-- The examples that tasks without a solution were shown.
SELECT DISTINCT :nr AS nr, ord, entry FROM subject JOIN shown ON task = ord WHERE solved_at IS NULL;
