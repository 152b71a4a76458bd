# Posterior probabilities of R's models, with the divisors of maximum likelihood and with their own: Rscript models.R rows.csv folder
suppressMessages({library(MASS); library(e1071); library(mclust)})
given <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(given[1])
y <- factor(rows$y)
X <- as.matrix(rows[, names(rows) != "y"])
whole <- complete.cases(X)
write <- function(name, posterior) {
  write.table(formatC(posterior, digits = 17, format = "g"), file.path(given[2], paste0(name, ".csv")),
              sep = ",", quote = FALSE, row.names = FALSE, col.names = FALSE)
}
if (all(whole)) {
  write("lda", predict(lda(X, y, method = "mle"), X)$posterior)
  write("lda, divisor n - k", predict(lda(X, y), X)$posterior)
  write("qda, divisor n - 1", predict(qda(X, y), X)$posterior)
  write("lda CV", lda(X, y, method = "mle", CV = TRUE)$posterior)
  write("qda", predict(qda(X, y, method = "mle"), X)$posterior)
  write("qda CV", qda(X, y, method = "mle", CV = TRUE)$posterior)
  for (model in c("VVV", "EEE", "VVI", "EEI", "VII", "EII")) {
    fitted <- MclustDA(X, y, modelType = "EDDA", modelNames = model, verbose = FALSE)
    write(paste("EDDA", model), predict(fitted, X)$z)
  }
}
model <- naiveBayes(X, y)
write("naiveBayes, divisor n - 1", predict(model, as.data.frame(X), type = "raw"))
for (j in colnames(X)) {  # standard deviations have the divisor n - 1
  n <- tapply(!is.na(X[, j]), y, sum)
  model$tables[[j]][, 2] <- model$tables[[j]][, 2] * sqrt((n - 1) / n)
}
write("naiveBayes", predict(model, as.data.frame(X), type = "raw"))
