-- The problems that attempts at a task were shown, those of the pack's seeds aside.
SELECT name, problem FROM shown JOIN entry USING (entry)
WHERE shown.task = :task AND origin <> 'seed' AND problem IS NOT NULL
ORDER BY shown.attempt, rank;
