#include "sim/base/core/units.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {
const SourceLocation here{"file.json", "/x"};
}

TEST_CASE("every documented unit is read") {
  CHECK(parse_duration("2 s", here) == 2);
  CHECK(parse_duration("2ms", here) == 2e-3);
  CHECK(parse_duration("45.25 us", here) == Approx(45.25e-6));
  CHECK(parse_duration("1e3 ns", here) == Approx(1e-6));
  CHECK(parse_duration("5 ps", here) == Approx(5e-12));
  CHECK(parse_size("7 B", here) == 7);
  CHECK(parse_size("4 kB", here) == 4000);
  CHECK(parse_size("4 KiB", here) == 4096);
  CHECK(parse_size("1.5 MiB", here) == 1572864);
  CHECK(parse_size("2 MB", here) == 2000000);
  CHECK(parse_size("1 GB", here) == 1000000000);
  CHECK(parse_size("1 GiB", here) == 1073741824);
  CHECK(parse_rate("10 Gbit/s", here) == 1.25e9);
  CHECK(parse_rate("1 Tbit/s", here) == 1.25e11);
  CHECK(parse_rate("8 bit/s", here) == 1);
  CHECK(parse_rate("1 kbit/s", here) == 125);
  CHECK(parse_rate("100Mbit/s", here) == 1.25e7);
  CHECK(parse_rate("100Mbps", here) == 1.25e7);
  CHECK(parse_rate("200Gbps", here) == parse_rate("200 Gbit/s", here));
  CHECK(parse_rate("1 Tbps", here) == 1.25e11);
  CHECK(parse_rate("3 B/s", here) == 3);
  CHECK(parse_rate("3 kB/s", here) == 3000);
  CHECK(parse_rate("3 MB/s", here) == 3e6);
  CHECK(parse_rate("3 GB/s", here) == 3e9);
  CHECK(parse_per_byte("1.97 ns/B", here) == Approx(1.97e-9));
  CHECK(parse_per_byte("2 s/B", here) == 2);
  CHECK(parse_per_byte("9e-6 ms/B", here) == Approx(9e-9));
  CHECK(parse_per_byte("1 us/B", here) == Approx(1e-6));
}

TEST_CASE("a bad quantity is reported with its place, the fault and a correct example") {
  CHECK(error_place([] { parse_duration("45", here); }) == "file.json: /x");
  for (const auto* text :
       {"", "us", "-1 us", "nan us", "1 µs", "1 us us", "1 MB", "1e999 s", "inf s", "0x10 s", "1,5 ms"})
    CHECK(error_place([&] { parse_duration(text, here); }) == "file.json: /x");
  CHECK(error_place([] { parse_size("1e30 GB", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("10 GBit", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("400Kbps", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("400gbit/s", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("400gb/s", here); }) == "file.json: /x");  // bits or bytes: all units
  CHECK(error_place([] { parse_size("4kib", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("2.5 Gb/s", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("50 GBps", here); }) == "file.json: /x");
  CHECK(error_place([] { parse_rate("5 lbps", here); }) == "file.json: /x");
}

TEST_CASE("one size, or a range") {
  CHECK(parse_sizes("100 MB", here) == std::vector<Bytes>{100'000'000});
  CHECK(parse_sizes("8B:64B:x2", here) == std::vector<Bytes>{8, 16, 32, 64});
  CHECK(parse_sizes("1 KiB : 10 KiB:x4", here) == std::vector<Bytes>{1024, 4096});
  CHECK(parse_sizes("8B:1GiB:x2", here).size() == 28);
  CHECK(parse_sizes("1B:3B:x1.5", here) == std::vector<Bytes>{1, 2});
}

TEST_CASE("invalid sizes") {
  CHECK_THROWS_AS(parse_sizes("8B:1GiB", here), InputError);
  CHECK_THROWS_AS(parse_sizes("8B:1GiB:2", here), InputError);
  CHECK(error_place([] { parse_sizes("8B:1GiB:", here); }) == "file.json: /x");
  // The range ends where its text does, whatever stands behind that.
  CHECK(error_place([] { parse_sizes(std::string_view("8B:1GiB:x2").substr(0, 8), here); }) == "file.json: /x");
  CHECK_THROWS_AS(parse_sizes("1GiB:8B:x2", here), InputError);
  CHECK_THROWS_AS(parse_sizes("0B:8B:x2", here), InputError);
  CHECK_THROWS_AS(parse_sizes("8B:1GiB:x1", here), InputError);
  CHECK_THROWS_AS(parse_sizes("8B:1GiB:xb", here), InputError);
  CHECK_THROWS_AS(parse_sizes("ten", here), InputError);
  const auto right = [](const char* text) -> std::string {
    try {
      parse_sizes(text, here);
    } catch (const InputError& error) {
      return error.right();
    }
    return "";
  };
  CHECK(right("1GiB:1MiB:x4") == "1MiB:1GiB:x4");
  CHECK(right("1GiB:1MiB") == "1MiB:1GiB:x2");
  CHECK(right("8B:1GiB:") == "8B:1GiB:x2");
  CHECK(right("8B:1GiB:x1") == "8B:1GiB:x2");
}

TEST_CASE("written quantities are read back exactly") {
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{4'194'303}, Bytes{25} << 20, Bytes{4'000'000}, Bytes{3} << 30})
    CHECK(parse_size(write_size(bytes), here) == bytes);
  CHECK(write_size(Bytes{25} << 20) == "25 MiB");
  CHECK(write_size(4'000'000) == "4 MB");
  CHECK(write_duration(Time(5'000'000'000)) == "5 ms");
  CHECK(write_duration(Time(1'500)) == "1500 ps");
}

TEST_CASE("quantities are written in the unit that fits") {
  CHECK(format_duration(0.0123456) == "12.35 ms");
  CHECK(format_duration(0.9999) == "999.9 ms");
  CHECK(format_duration(0.99996) == "1 s");
  CHECK(format_duration(0) == "0 s");
  CHECK(format_long_duration(119) == "119 s");
  CHECK(format_long_duration(16060) == "4.461 h");
  CHECK(format_long_duration(2e9) == "23148 d");
  CHECK(format_size(1536) == "1.536 kB");
  CHECK(format_size(5 * 512 * 1024) == "2.621 MB");
  CHECK(format_size(1000) == "1 kB");
  CHECK(format_rate(1.25e9) == "10 Gbit/s");
}
