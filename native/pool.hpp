// Scores of targets and of others: apart in one pass, then together again by pool-adjacent-violators in another.
#pragma once
#include <cstddef>
#include <cstdint>

namespace suffice {

// Writes the scores of targets to the front of `parts` (n,), the rest to its back; returns how many targets there are.
// Each score is written to both places, of which one moves on: no branch to guess.
inline std::ptrdiff_t split_scores(const double* score, const std::uint8_t* target, std::ptrdiff_t n, double* parts) {
    std::ptrdiff_t front = 0, back = n - 1;
    for (std::ptrdiff_t r = 0; r < n; ++r) {
        const std::ptrdiff_t is_target = target[r] != 0;
        parts[front] = parts[back] = score[r];
        front += is_target, back -= 1 - is_target;
    }
    return front;
}

// How many targets are among the first `count` scores of two sorted lists, where a target is before an other of its score.
inline std::ptrdiff_t targets_among(std::ptrdiff_t count, const double* target, std::ptrdiff_t n_targets,
                                    const double* other, std::ptrdiff_t n_others) {
    std::ptrdiff_t low = count > n_others ? count - n_others : 0, high = count < n_targets ? count : n_targets;
    while (low < high) {
        const std::ptrdiff_t middle = low + (high - low) / 2;
        if (target[middle] <= other[count - middle - 1]) low = middle + 1;
        else high = middle;
    }
    return low;
}

struct Step {
    double targets, others;
};

struct Steps {  // of rising shares of targets
    Step* step;
    std::ptrdiff_t size = 0;

    void add(Step next) {
        for (; size > 0 && step[size - 1].targets * next.others >= next.targets * step[size - 1].others; --size)
            next = {step[size - 1].targets + next.targets, step[size - 1].others + next.others};
        step[size++] = next;
    }
};

// Merges two sorted lists, a target before an other of the same score, and pools what comes.
//
// A step never ends but between an other and a target. So a block of scores is first counted out into runs of targets and
// the others after them, without a branch to guess, and these are pooled.
class MergeAndPool {
public:
    static constexpr std::ptrdiff_t block = 512;
    Steps steps;

    MergeAndPool(const double* target, std::ptrdiff_t n_targets, const double* other, std::ptrdiff_t n_others, Steps out)
        : steps(out), target_(target), other_(other), n_targets_(n_targets), n_others_(n_others) {}

    // How many scores may be taken whatever they are.
    std::ptrdiff_t safe() const {
        const std::ptrdiff_t least = n_targets_ - i_ < n_others_ - j_ ? n_targets_ - i_ : n_others_ - j_;
        return least < block ? least : block;
    }

    void take() {
        const std::ptrdiff_t is_target = target_[i_] <= other_[j_];
        run_ += is_target & after_other_;
        after_other_ = 1 - is_target;
        i_ += is_target, j_ += after_other_;
        i_end_[run_] = double(i_), j_end_[run_] = double(j_);
    }

    void pool() {
        for (std::ptrdiff_t r = 0; r <= run_; ++r) {
            steps.add({i_end_[r] - i_pooled_, j_end_[r] - j_pooled_});
            i_pooled_ = i_end_[r], j_pooled_ = j_end_[r];
        }
        run_ = after_other_ = 0;
    }

    void finish() {
        while (const std::ptrdiff_t n = safe()) {
            for (std::ptrdiff_t s = 0; s < n; ++s) take();
            pool();
        }
        steps.add({double(n_targets_ - i_), double(n_others_ - j_)});  // one list is left
    }

private:
    const double *target_, *other_;
    std::ptrdiff_t n_targets_, n_others_, i_ = 0, j_ = 0, run_ = 0, after_other_ = 0;
    double i_pooled_ = 0.0, j_pooled_ = 0.0, i_end_[block], j_end_[block];
};

// Writes how many targets and others each step has, from the lowest score to the highest, such that the share of targets
// rises from step to step, and equal scores stay together; returns the number of steps. There is room for two steps more
// than the shorter list has scores.
inline std::ptrdiff_t pool_violators(const double* target, std::ptrdiff_t n_targets, const double* other,
                                     std::ptrdiff_t n_others, Step* step) {
    // A merge waits for each comparison before the next; the lower and the upper half do so at the same time.
    const std::ptrdiff_t half = (n_targets + n_others) / 2;
    const std::ptrdiff_t i = targets_among(half, target, n_targets, other, n_others), j = half - i;
    MergeAndPool low(target, i, other, j, {step});
    MergeAndPool high(target + i, n_targets - i, other + j, n_others - j, {step + (i < j ? i : j) + 1});
    while (const std::ptrdiff_t n = low.safe() < high.safe() ? low.safe() : high.safe()) {
        for (std::ptrdiff_t s = 0; s < n; ++s) low.take(), high.take();
        low.pool(), high.pool();
    }
    low.finish(), high.finish();
    for (std::ptrdiff_t s = 0; s < high.steps.size; ++s) low.steps.add(high.steps.step[s]);
    return low.steps.size;
}

}  // namespace suffice
