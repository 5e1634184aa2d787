module github.com/backsight/backsight

go 1.26
