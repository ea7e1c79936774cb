module troupe/lab/engines/go

go 1.22
