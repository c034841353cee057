-- The tasks of run :nr, for tables that are made in C.
SELECT solved_at, ord FROM task WHERE nr = :nr ORDER BY ord;
