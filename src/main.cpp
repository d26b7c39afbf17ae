#include "toll/serve.hpp"

int main(int argc, char** argv) {
    return toll::run_program(argc, argv);
}
