#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace words {

struct Count {
    std::string word;
    int times;
    bool operator<(const Count &other) const { return times > other.times; }
};

std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> words(1);
    for (char c : text) {
        if (c == ' ')
            words.emplace_back();
        else
            words.back().push_back(c);
    }
    return words;
}

} // namespace words

using words::Count;

template <typename Map> std::vector<Count> sorted(const Map &counts) {
    std::vector<Count> all;
    for (const auto &[word, times] : counts)
        all.push_back({word, times});
    std::stable_sort(all.begin(), all.end());
    return all;
}

class Book {
public:
    virtual ~Book() = default;
    virtual void add(const std::string &text) {
        for (const auto &word : words::split(text))
            ++counts[word];
    }
    int total() const {
        return std::accumulate(counts.begin(), counts.end(), 0,
                               [](int sum, const auto &entry) { return sum + entry.second; });
    }
    std::map<std::string, int> counts;
};

int main(int argc, char **argv) {
    auto book = std::make_shared<Book>();
    for (int i = 0; i < argc; ++i)
        book->add(argv[i]);
    const auto words = sorted(book->counts);
    return book->total() + static_cast<int>(words.size());
}
