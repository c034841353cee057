SELECT id FROM task ORDER BY ord;
