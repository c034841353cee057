-- The tasks of run :nr, for tables that are made in C.
SELECT solved_at, ord FROM tasks WHERE nr = :nr AND NOT piece AND NOT skipped ORDER BY ord;
