SELECT retrieval FROM log WHERE nr = :nr;
