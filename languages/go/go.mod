module toll

go 1.19
