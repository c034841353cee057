-- The attempt that stands for a task: of those that solved it the fittest, else the last.
SELECT attempt FROM attempt WHERE task = :task
ORDER BY solved DESC, iif(solved, fitness, attempt) DESC, attempt LIMIT 1;
