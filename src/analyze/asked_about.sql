-- What a model is asked about borrowing: attempts with a number that is `given`.
SELECT json_array(nr, task.id, attempt, solved, code, json(parents)), NULL
FROM asked_about JOIN task USING (nr, ord) JOIN given ON CAST(item AS INTEGER) = attempt
ORDER BY nr, ord, given.rowid;
