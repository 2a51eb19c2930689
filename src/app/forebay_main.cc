// forebay: the command line.
#include "cli/main.h"

int main(int argc, char** argv) { return forebay::cli::Main(argc, argv); }
