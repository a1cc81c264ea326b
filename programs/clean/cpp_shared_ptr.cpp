// Each thread has its own shared_ptr to one object: the counts are atomic, and the
// last one out destroys what all the others have read.
#include <memory>
#include <thread>
#include <vector>

struct Document {
    std::vector<int> pages = std::vector<int>(100, 1);
    ~Document() { pages.assign(1, 0); } // a write, after everybody's reads
};

int main() {
    auto document = std::make_shared<Document>();
    std::weak_ptr<Document> weak = document;
    std::vector<std::thread> readers;
    for (int i = 0; i < 6; i++)
        readers.emplace_back([copy = document] {
            long sum = 0;
            for (int page : copy->pages) sum += page;
            volatile long result = sum;
            (void)result;
        });
    readers.emplace_back([weak] {
        if (auto locked = weak.lock()) {
            volatile size_t size = locked->pages.size();
            (void)size;
        }
    });
    document.reset();
    for (auto &reader : readers) reader.join();
}
