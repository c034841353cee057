-- Attempts before the one that solved a task, each of the programs once.
SELECT min(attempt) AS attempt FROM attempt
WHERE task = :task AND attempt < :attempt AND NOT solved AND code IS NOT NULL
    AND code_hash IS NOT NULL AND verdict <> 'not_judged'
GROUP BY code_hash ORDER BY 1;
